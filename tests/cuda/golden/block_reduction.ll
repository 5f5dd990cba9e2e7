; shared 2048
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".18" = alloca double
  %".19" = alloca float
  %".50" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = sub i64 %".10", 1
  %".12" = call i64 @"llvm.ctlz.i64"(i64 %".11", i1 0)
  %".13" = sub i64 64, %".12"
  %".14" = shl i64 1, %".13"
  %".15" = sub i64 %".14", 1
  %".16" = and i64 %".9", %".15"
  %".17" = icmp eq i64 %".16", 0
  store double              0x0, double* %".18"
  %".21" = mul nsw i64 %".4", %".5"
  %".22" = mul i64 %".14", 1024
  br label %"head"
head:
  %".24" = phi  i64 [0, %"body"], [%".48", %"after.1"]
  %".25" = icmp slt i64 %".24", %".21"
  br i1 %".25", label %"loop", label %"after"
loop:
  store float              0x0, float* %".19"
  %".28" = add i64 %".24", %".16"
  %".29" = add i64 %".24", %".22"
  %".30" = icmp slt i64 %".29", %".21"
  %".31" = select  i1 %".30", i64 %".29", i64 %".21"
  br label %"head.1"
after:
  %".51" = icmp slt i64 %".14", 32
  %".52" = select  i1 %".51", i64 %".14", i64 32
  %".53" = lshr i64 %".52", 1
  store i64 %".53", i64* %".50"
  br label %"head.2"
head.1:
  %".33" = phi  i64 [%".28", %"loop"], [%".41", %"loop.1"]
  %".34" = icmp slt i64 %".33", %".31"
  br i1 %".34", label %"loop.1", label %"after.1"
loop.1:
  %".36" = getelementptr float, float addrspace(1)* %".7", i64 %".33"
  %".37" = load float, float addrspace(1)* %".36", !alias.scope !3, !noalias !4
  %".38" = load float, float* %".19"
  %".39" = fadd reassoc float %".38", %".37"
  store float %".39", float* %".19"
  %".41" = add nsw i64 %".33", %".14"
  br label %"head.1"
after.1:
  %".43" = load float, float* %".19"
  %".44" = fpext float %".43" to double
  %".45" = load double, double* %".18"
  %".46" = fadd double %".45", %".44"
  store double %".46", double* %".18"
  %".48" = add nsw i64 %".24", %".22"
  br label %"head"
head.2:
  %".56" = load i64, i64* %".50"
  %".57" = icmp ugt i64 %".56", 0
  br i1 %".57", label %"loop.2", label %"after.2"
loop.2:
  %".59" = load i64, i64* %".50"
  %".60" = load double, double* %".18"
  %".61" = bitcast double %".60" to i64
  %".62" = trunc i64 %".61" to i32
  %".63" = trunc i64 %".59" to i32
  %".64" = call i32 @"shuffle"(i32 %".62", i32 %".63")
  %".65" = lshr i64 %".61", 32
  %".66" = trunc i64 %".65" to i32
  %".67" = trunc i64 %".59" to i32
  %".68" = call i32 @"shuffle"(i32 %".66", i32 %".67")
  %".69" = zext i32 %".64" to i64
  %".70" = zext i32 %".68" to i64
  %".71" = shl i64 %".70", 32
  %".72" = or i64 %".69", %".71"
  %".73" = bitcast i64 %".72" to double
  %".74" = load double, double* %".18"
  %".75" = fadd double %".74", %".73"
  store double %".75", double* %".18"
  %".77" = lshr i64 %".59", 1
  store i64 %".77", i64* %".50"
  br label %"head.2"
after.2:
  %".80" = icmp ugt i64 %".14", 32
  br i1 %".80", label %"after.2.if", label %"after.2.endif"
after.2.if:
  %".82" = sub i64 %".9", %".16"
  %".83" = lshr i64 %".82", 5
  %".84" = lshr i64 %".14", 5
  %".85" = lshr i64 %".9", 5
  %".86" = and i64 %".9", 31
  %".87" = icmp eq i64 %".86", 0
  %".88" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".89" = bitcast i8 addrspace(3)* %".88" to double addrspace(3)*
  br i1 %".87", label %"after.2.if.if", label %"after.2.if.endif"
after.2.endif:
  %".116" = load double, double* %".18"
  %".117" = fptrunc double %".116" to float
  br i1 %".17", label %"after.2.endif.if", label %"after.2.endif.endif"
after.2.if.if:
  %".91" = load double, double* %".18"
  %".92" = getelementptr double, double addrspace(3)* %".89", i64 %".85"
  store double %".91", double addrspace(3)* %".92"
  br label %"after.2.if.endif"
after.2.if.endif:
  call void @"barrier"()
  %".96" = mul i64 0, 1
  %".97" = add i64 %".83", %".96"
  %".98" = getelementptr double, double addrspace(3)* %".89", i64 %".97"
  %".99" = load double, double addrspace(3)* %".98"
  store double %".99", double* %".18"
  br label %"head.3"
head.3:
  %".102" = phi  i64 [1, %"after.2.if.endif"], [%".112", %"loop.3"]
  %".103" = icmp slt i64 %".102", %".84"
  br i1 %".103", label %"loop.3", label %"after.3"
loop.3:
  %".105" = mul i64 %".102", 1
  %".106" = add i64 %".83", %".105"
  %".107" = getelementptr double, double addrspace(3)* %".89", i64 %".106"
  %".108" = load double, double addrspace(3)* %".107"
  %".109" = load double, double* %".18"
  %".110" = fadd double %".109", %".108"
  store double %".110", double* %".18"
  %".112" = add nsw i64 %".102", 1
  br label %"head.3"
after.3:
  call void @"barrier"()
  br label %"after.2.endif"
after.2.endif.if:
  %".119" = getelementptr float, float addrspace(1)* %".8", i64 0
  store float %".117", float addrspace(1)* %".119", !alias.scope !4, !noalias !3
  br label %"after.2.endif.endif"
after.2.endif.endif:
  ret void
}

@"shared" = external addrspace(3) global [0 x i8]
declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4")
{
entry:
  %".6" = call i64 @"threads"()
  %".7" = sub i64 %".6", 1
  %".8" = call i64 @"llvm.ctlz.i64"(i64 %".7", i1 0)
  %".9" = sub i64 64, %".8"
  %".10" = lshr i64 %".6", %".9"
  %".11" = sub i64 %".10", 1
  %".12" = add i64 1, %".11"
  %".13" = udiv i64 %".12", %".10"
  ret i64 %".13"
}

declare i64 @"llvm.ctlz.i64"(i64 %".1", i1 %".2")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !1 }
!4 = !{ !2 }